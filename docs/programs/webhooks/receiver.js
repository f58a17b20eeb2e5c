const crypto = require("node:crypto");
const http = require("node:http");

const KEY = Buffer.from(process.env.WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
const seen = new Set(); // in your database: an event may come twice

/** Whether the event is from the service, and was sent within the last five minutes. */
function genuine(headers, body) {
  const at = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(at) || Math.abs(Date.now() / 1000 - Number(at)) > 300) return false;
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${at}.`), body]);
  const wanted = Buffer.from("v1," + crypto.createHmac("sha256", KEY).update(signed).digest("base64"));
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const given = Buffer.from(one);
    return given.length === wanted.length && crypto.timingSafeEqual(given, wanted);
  });
}

const server = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  if (!genuine(request.headers, body)) {
    response.writeHead(401).end();
    return;
  }
  const event = JSON.parse(body);
  if (!seen.has(event.id)) {
    seen.add(event.id);
    console.log(event.type, event.id);
  }
  response.writeHead(204).end();
});
server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
