using System.Net.Http;
using System.Text;
using System.Text.Json;

var service = "http://localhost:3939/dm/execute";
using var http = new HttpClient { Timeout = TimeSpan.FromSeconds(20) };

// The answer to a task of the register, asked with the same tag until it is clear.
async Task<JsonElement> Fiscal(string tag, object task)
{
    var body = JsonSerializer.Serialize(new { ver = 6, device = "test", tag, type = 1, fiscal = task });
    var until = DateTime.UtcNow.AddSeconds(90);
    for (var pause = 250; ; pause = Math.Min(2 * pause, 2000))
    {
        string why;
        try
        {
            using var content = new StringContent(body, Encoding.UTF8, "application/json");
            using var told = await http.PostAsync(service, content);
            var answer = JsonDocument.Parse(await told.Content.ReadAsStringAsync()).RootElement;
            if (answer.GetProperty("res_action").GetInt32() is 0 or 3) return answer;
            why = answer.GetProperty("errortxt").GetString() ?? "";
        }
        catch (Exception error) when (error is HttpRequestException or TaskCanceledException or JsonException
                                          or KeyNotFoundException or InvalidOperationException)
        {
            why = error.Message; // no answer, a broken one, none of ours
        }
        if (DateTime.UtcNow > until) throw new Exception($"not clear yet, keep the tag {tag}: {why}");
        await Task.Delay(pause);
    }
}

var opened = await Fiscal("day-1", new { task = 0, cashier = "Olena" });
if (opened.GetProperty("res").GetInt32() is not (0 or 1096)) throw new Exception(opened.GetProperty("errortxt").GetString());
var row = new { code = "7", name = "Чай, кг", cnt = 0.125m, price = 333.60m, taxgrp = 1 };
var receipt = new { sum = 41.70m, rows = new[] { row }, pays = new[] { new { type = 0, sum = 50m } } };
var sold = await Fiscal("order-1001", new { task = 1, cashier = "Olena", receipt });
if (sold.GetProperty("res").GetInt32() != 0) throw new Exception(sold.GetProperty("errortxt").GetString());
Console.WriteLine(sold.GetProperty("info").GetProperty("doccode").GetString());
