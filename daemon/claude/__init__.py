"""The model client: model table, requests, streams and availability."""
