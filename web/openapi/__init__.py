"""The interface in the words of machines: OpenAPI 3.1 and a Postman collection, both made from the code."""
