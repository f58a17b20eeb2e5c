<?php
const SERVICE = "http://localhost:3939/dm/execute";

/** The answer to a task of the register, asked with the same tag until it is clear. */
function fiscal(string $tag, array $task): array
{
    $body = json_encode(["ver" => 6, "device" => "test", "tag" => $tag, "type" => 1, "fiscal" => $task]);
    $context = stream_context_create(["http" => [
        "method" => "POST", "header" => "Content-Type: application/json", "content" => $body, "timeout" => 20,
    ]]);
    for ($pause = 0.25, $until = time() + 90; ; $pause = min(2 * $pause, 2)) {
        $told = @file_get_contents(SERVICE, false, $context); // false: no answer
        $answer = json_decode($told === false ? "" : $told, true);
        if (in_array($answer["res_action"] ?? 2, [0, 3], true)) {
            return $answer;
        }
        if (time() > $until) {
            exit("not clear yet, keep the tag $tag: " . ($answer["errortxt"] ?? "no answer"));
        }
        usleep((int) ($pause * 1_000_000));
    }
}

$opened = fiscal("day-1", ["task" => 0, "cashier" => "Olena"]);
if (!in_array($opened["res"], [0, 1096], true)) {
    exit($opened["errortxt"]);
}
$row = ["code" => "7", "name" => "Чай, кг", "cnt" => "0.125", "price" => "333.60", "taxgrp" => 1];
$sold = fiscal("order-1001", ["task" => 1, "cashier" => "Olena", "receipt" => [
    "sum" => "41.70", "rows" => [$row], "pays" => [["type" => 0, "sum" => "50"]],
]]);
if ($sold["res"] !== 0) {
    exit($sold["errortxt"]);
}
echo $sold["info"]["doccode"], "\n";
