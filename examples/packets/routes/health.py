"""Health check without login."""

from app.http import json, route


@route("GET", "/health")
async def health(request):
    return json({"status": "ok"})
