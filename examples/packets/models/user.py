"""User model with email, password_hash and created_at."""

from datetime import datetime

from app.db import Column, DateTime, Model, String


class User(Model):
    """An account. Billing reads the same table."""

    email = Column(String(254), unique=True)
    password_hash = Column(String(60))
    created_at = Column(DateTime, default=datetime.utcnow)
