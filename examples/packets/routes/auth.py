"""Routes for accounts: has /register, needs /login."""

from app.http import error, json, route
from models.user import User


@route("POST", "/register")
async def register(request):
    email, password = request.json["email"], request.json["password"]
    if len(password) < 10:
        return error("password too short", 400)
    user = await User.create(email=email, password=password)
    return json({"id": user.id}, 201)
