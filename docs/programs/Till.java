import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.regex.Pattern;

public class Till {
    static final URI SERVICE = URI.create("http://localhost:3939/dm/execute");
    static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** The answer to a task of the register, asked with the same tag until it is clear. */
    static String fiscal(String tag, String task) throws InterruptedException {
        String body = "{\"ver\":6,\"device\":\"test\",\"tag\":\"" + tag + "\",\"type\":1,\"fiscal\":" + task + "}";
        HttpRequest request = HttpRequest.newBuilder(SERVICE)
            .header("Content-Type", "application/json")
            .timeout(Duration.ofSeconds(20))
            .POST(BodyPublishers.ofString(body))
            .build();
        long until = System.nanoTime() + 90_000_000_000L;
        for (long pause = 250; ; pause = Math.min(2 * pause, 2000)) {
            String why;
            try {
                var told = HTTP.send(request, BodyHandlers.ofString());
                String action = member(told.body(), "res_action");
                if (told.statusCode() == 200 && (action.equals("0") || action.equals("3"))) {
                    return told.body();
                }
                why = told.body();
            } catch (java.io.IOException error) {
                why = String.valueOf(error.getMessage()); // no answer, or a broken one
            }
            if (System.nanoTime() > until) {
                throw new IllegalStateException("not clear yet, keep the tag " + tag + ": " + why);
            }
            Thread.sleep(pause);
        }
    }

    static String member(String json, String name) {
        var found = Pattern.compile("\"" + name + "\":\"?([^,\"}]*)").matcher(json);
        return found.find() ? found.group(1) : "";
    }

    public static void main(String[] arguments) throws InterruptedException {
        String opened = member(fiscal("day-1", "{\"task\":0,\"cashier\":\"Olena\"}"), "res");
        if (!opened.equals("0") && !opened.equals("1096")) {
            throw new IllegalStateException("the shift cannot be opened: " + opened);
        }
        String row = "{\"code\":\"7\",\"name\":\"Чай, кг\",\"cnt\":0.125,\"price\":333.60,\"taxgrp\":1}";
        String sold = fiscal("order-1001", "{\"task\":1,\"cashier\":\"Olena\",\"receipt\":{\"sum\":41.70,"
            + "\"rows\":[" + row + "],\"pays\":[{\"type\":0,\"sum\":50}]}}");
        if (!member(sold, "res").equals("0")) {
            throw new IllegalStateException(member(sold, "errortxt"));
        }
        System.out.println(member(sold, "doccode"));
    }
}
