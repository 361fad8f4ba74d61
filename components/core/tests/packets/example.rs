//! The example of the specification: JWT authentication, from a conversation of 20 messages.

use shared_context_core::{
    item::Item,
    packets::{Depth, File, Form, GeneratePacket, MadeBy, Part},
};

use super::{conversation, printed, request};

const TALK: [(char, &str); 20] = [
    (
        'u',
        "We need to add JWT-based authentication to the login endpoint. The user should receive \
        a token on successful login. The mobile app team will start integrating against it next \
        sprint, so it would be good to have something they can call by then.",
    ),
    (
        'a',
        "Understood. Let me look at the code first. I will read the user model, the auth routes \
        and the requirements, and then come back with a plan before I change anything. I will also \
        check how errors are returned today so that the new endpoint fits in with the others.",
    ),
    (
        't',
        "$ cat models/user.py\nclass User(Base):\n    __tablename__ = \"users\"\n    id = Column(Integer, \
        primary_key=True)\n    email = Column(String(255), unique=True, index=True)\n    password_hash = \
        Column(String(255))\n    created_at = Column(DateTime, default=utcnow)\n\n    def verify(self, \
        password):\n        return bcrypt.checkpw(password.encode(), self.password_hash.encode())\n",
    ),
    (
        'a',
        "The user model has email, password_hash and created_at, and a verify method that checks \
        a password with bcrypt, so there is nothing to add to it. Next I am looking at the routes \
        to see where the endpoint belongs and how the others are written.",
    ),
    (
        't',
        "$ cat routes/auth.py\nrouter = APIRouter()\n\n@router.post(\"/register\")\nasync def \
        register(body: RegisterBody, db: Session = Depends(get_db)):\n    if await find_user(db, \
        body.email):\n        return JSONResponse({\"error\": \"email taken\", \"code\": 409}, 409)\n    user \
        = User(email=body.email, password_hash=hash_password(body.password))\n    db.add(user)\n    await \
        db.commit()\n    return {\"id\": user.id}\n\n$ cat routes/orders.py\nrouter = APIRouter()\n\n\
        @router.get(\"/orders\")\nasync def list_orders(page: int = 1, db: Session = Depends(get_db)):\n    \
        if page < 1:\n        return JSONResponse({\"error\": \"page must be 1 or more\", \"code\": 400}, 400)\n    \
        rows = await db.scalars(select(Order).limit(50).offset(50 * (page - 1)))\n    return \
        [it.summary() for it in rows]\n\n@router.get(\"/orders/{id}\")\nasync def show_order(id: int, db: \
        Session = Depends(get_db)):\n    order = await db.get(Order, id)\n    if order is None:\n        return \
        JSONResponse({\"error\": \"no such order\", \"code\": 404}, 404)\n    return order.details()\n\n\
        $ cat routes/__init__.py\nfrom .auth import router as auth\nfrom .orders import router as orders\n\
        from .cart import router as cart\n\ndef install(app):\n    for it in (auth, orders, cart):\n        \
        app.include_router(it)\n",
    ),
    (
        'a',
        "routes/auth.py currently has the /register endpoint only. All routes use async/await, and \
        errors are returned as {error: string, code: number}. There are two ways to do this: server \
        side sessions in Redis, or tokens that carry their own claims.",
    ),
    (
        'u',
        "Let's go with JWT over session tokens because it is stateless and works with the planned \
        mobile app. I do not want to run Redis just for this.",
    ),
    (
        'a',
        "Good, that also keeps the deployment simple. For the signature there are HS256 with a \
        shared secret and RS256 with a key pair. We will use RS256 because other services can verify \
        without a shared secret.",
    ),
    (
        'u',
        "Fine with me. The token must expire after 24 hours, that is what the users asked for. And \
        please do not modify the registration flow, another team is working on it at the moment.",
    ),
    (
        'a',
        "Noted: the expiry is 24 hours and registration stays as it is. I will start with the \
        library then. PyJWT is the most common one, so let me see if it is already available in \
        the project.",
    ),
    (
        't',
        "$ pip show PyJWT\nWARNING: Package(s) not found: PyJWT\n$ grep -i jose requirements.txt\n\
        python-jose[cryptography]==3.3.0\nfastapi==0.111.0\nsqlalchemy==2.0.30\nbcrypt==4.1.3\nuvicorn==0.30.1\n\
        pydantic==2.7.4\nalembic==1.13.1\nhttpx==0.27.0\npytest==8.2.2\npytest-asyncio==0.23.7\nruff==0.4.8\n\
        mypy==1.10.0\npython-multipart==0.0.9\nemail-validator==2.1.1\naiosqlite==0.20.0\nasyncpg==0.29.0\n\
        $ pytest -q\n.................................................................. [ 61%]\n\
        .......................................... [100%]\n108 passed, 3 warnings in 14.22s\n\
        tests/test_auth.py::test_register PASSED\ntests/test_auth.py::test_register_twice PASSED\n\
        tests/test_users.py::test_profile PASSED\ntests/test_users.py::test_profile_of_nobody PASSED\n\
        tests/test_orders.py::test_list PASSED\ntests/test_orders.py::test_order PASSED\n\
        tests/test_orders.py::test_order_of_another PASSED\ntests/test_cart.py::test_add PASSED\n\
        tests/test_cart.py::test_total PASSED\ntests/test_cart.py::test_currency PASSED\n\
        tests/test_search.py::test_words PASSED\ntests/test_search.py::test_nothing PASSED\n\
        tests/test_search.py::test_pages PASSED\ntests/test_mail.py::test_welcome PASSED\n\
        tests/test_mail.py::test_bounce PASSED\ntests/test_admin.py::test_list PASSED\n\
        tests/test_admin.py::test_roles PASSED\ntests/test_admin.py::test_delete PASSED\n\
        tests/test_health.py::test_ready PASSED\ntests/test_health.py::test_live PASSED\n\
        tests/test_upload.py::test_small PASSED\ntests/test_upload.py::test_large PASSED\n\
        tests/test_upload.py::test_type PASSED\ntests/test_stock.py::test_reserve PASSED\n\
        tests/test_stock.py::test_release PASSED\ntests/test_stock.py::test_empty PASSED\n\
        tests/test_prices.py::test_rounding PASSED\ntests/test_prices.py::test_discount PASSED\n\
        tests/test_prices.py::test_vat PASSED\ntests/test_invoices.py::test_number PASSED\n\
        tests/test_invoices.py::test_pdf PASSED\ntests/test_invoices.py::test_mail PASSED\n\
        tests/test_cart.py::test_remove PASSED\ntests/test_cart.py::test_empty PASSED\n",
    ),
    (
        'a',
        "I tried PyJWT but it is not in requirements.txt. We will use python-jose because it is \
        already in requirements.txt with the cryptography extra, so nothing has to be approved.",
    ),
    (
        'u',
        "Right, new dependencies take forever to get through review. You must use the existing \
        User model from models/user.py, no second table for accounts please.",
    ),
    (
        'a',
        "Yes. The endpoint looks the user up by email, calls verify, and returns the token together \
        with its lifetime. If the email is unknown or the password is wrong the answer is the same, so \
        that nobody can find out which addresses are registered.",
    ),
    (
        'u',
        "By the way, did you see that the office moves to the third floor next week? They packed my \
        monitor already, I am working on the small screen today.",
    ),
    (
        'a',
        "I hope it arrives in one piece. Back to the endpoint: where should the private key come from? \
        It could be a file that is mounted, or an environment variable that the deployment sets.",
    ),
    (
        'u',
        "The private key must come from the environment variable JWT_PRIVATE_KEY. Never log \
        tokens or passwords.",
    ),
    (
        'a',
        "Understood. I will write a small module auth/tokens.py with issue and verify, and use it in \
        routes/auth.py. The tests go next to the existing ones in tests/test_auth.py and cover a wrong \
        password, an unknown address, an expired token and a token with another signature.",
    ),
    (
        'u',
        "Sounds good. A colleague can take the frontend part of it later, that is a separate task. \
        Hand this over to somebody who can implement it today, I would like to see it in staging \
        tonight if that is possible.",
    ),
    (
        'a',
        "I will prepare the hand-over now with everything that we settled, so that whoever takes it \
        does not have to ask the same questions again or look at all of these files once more.",
    ),
];

fn files() -> Vec<File> {
    [
        ("models/user.py", "User model with email, password_hash, created_at"),
        ("routes/auth.py", "Has the /register endpoint; /login is to be added"),
        ("web/src/theme.css", "Colours and spacing of the shop"),
    ]
    .map(|(path, text)| File { path: path.to_owned(), text: text.to_owned() })
    .to_vec()
}

fn jwt() -> GeneratePacket {
    let mut it = request("Add JWT auth", conversation(&TALK));
    it.files = files();
    it
}

fn tokens(items: &[Item]) -> u32 {
    items.iter().map(|it| it.tokens.0).sum()
}

/// The decisions of the conversation: some words of each, and its author.
const DECISIONS: [(&str, MadeBy); 3] = [
    ("JWT over session tokens", MadeBy::User),
    ("RS256", MadeBy::Orchestrator),
    ("python-jose", MadeBy::Orchestrator),
];
const CONSTRAINTS: [&str; 5] = [
    "24 hours",
    "do not modify the registration flow",
    "existing User model",
    "JWT_PRIVATE_KEY",
    "Never log",
];

#[test]
fn a_standard_packet_has_every_decision_and_constraint() {
    let talk = conversation(&TALK);
    assert!((1_700..1_950).contains(&tokens(&talk)), "{}", tokens(&talk));
    let made = printed(&jwt(), Depth::Standard);
    let text = made.packet.render(Form::Markdown);
    assert!(made.packet.token_count.markdown.0 <= 400);
    for (word, made_by) in DECISIONS {
        let found = made.packet.of(Part::Decision).find(|it| it.text.contains(word));
        let it = found.unwrap_or_else(|| panic!("{word} is missing: {text}"));
        assert_eq!(it.made_by, Some(made_by), "{word}");
        assert!(it.detail.is_some(), "{word}");
    }
    for word in CONSTRAINTS {
        let mut rules = made.packet.of(Part::Constraint);
        assert!(rules.any(|it| it.text.contains(word)), "{word}: {text}");
    }
    let goal = made.packet.goal();
    assert!(goal.contains("JWT-based authentication to the login endpoint"), "{text}");
    assert_eq!(made.packet.of(Part::File).count(), 2, "{text}");
    for aside in ["third floor", "monitor", "theme.css"] {
        assert!(!text.contains(aside), "{text}");
    }
    let saved = (made.before.0 - made.packet.token_count.markdown.0) * 1_000 / made.before.0;
    assert!(saved >= 770, "{saved} ‰");
}

#[test]
fn a_minimal_packet_has_the_goal_and_a_constraint() {
    let made = printed(&jwt(), Depth::Minimal);
    assert!(made.packet.token_count.markdown.0 <= 100);
    assert!(made.packet.goal().contains("JWT"));
    assert!(made.packet.of(Part::Constraint).count() > 0);
    assert_eq!(made.packet.of(Part::Decision).count(), 0);
}

#[test]
fn a_deep_packet_has_the_failed_attempt() {
    let made = printed(&jwt(), Depth::Deep);
    assert!(made.packet.token_count.markdown.0 <= 800);
    let failed = made.packet.texts(Part::FailedAttempt);
    assert!(failed[0].contains("PyJWT"), "{failed:?}");
    let settled = [Part::Decision, Part::Constraint].map(|it| made.packet.of(it).count());
    assert!(settled.iter().sum::<usize>() >= 8, "{settled:?}");
}
