"""Orders of the caller; trusts the session cookie."""

from app.http import error, json, route
from models.order import Order


@route("GET", "/orders")
async def list_orders(request):
    account = request.cookies.get("session")
    if account is None:
        return error("not logged in", 401)
    orders = await Order.where(account=account).order_by("-created_at").limit(50)
    return json({"orders": [order.summary() for order in orders]})
