<?php
// php -S 127.0.0.1:8080 receiver.php
/** Whether the event is from the service, and was sent within the last five minutes. */
function genuine(string $id, string $at, string $signatures, string $body): bool
{
    $key = base64_decode(preg_replace("/^whsec_/", "", getenv("WEBHOOK_SECRET")));
    if (!ctype_digit($at) || abs(time() - (int) $at) > 300) {
        return false;
    }
    $wanted = "v1," . base64_encode(hash_hmac("sha256", "$id.$at.$body", $key, true));
    foreach (explode(" ", $signatures) as $one) {
        if (hash_equals($wanted, $one)) {
            return true;
        }
    }
    return false;
}

$body = file_get_contents("php://input");
$given = array_map(fn($name) => $_SERVER["HTTP_WEBHOOK_$name"] ?? "", ["ID", "TIMESTAMP", "SIGNATURE"]);
if (!genuine(...[...$given, $body])) {
    http_response_code(401);
    exit;
}
$event = json_decode($body, true);
// An event may come twice: look its id up in your database first.
error_log("{$event["type"]} {$event["id"]}");
http_response_code(204);
