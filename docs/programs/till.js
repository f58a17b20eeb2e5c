const SERVICE = "http://localhost:3939/dm/execute";
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The answer to a task of the register, asked with the same tag until it is clear. */
async function fiscal(tag, task) {
  const body = JSON.stringify({ ver: 6, device: "test", tag, type: 1, fiscal: task });
  const until = Date.now() + 90_000;
  for (let pause = 250, why = ""; ; pause = Math.min(2 * pause, 2000)) {
    try {
      const told = await fetch(SERVICE, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body,
        signal: AbortSignal.timeout(20_000),
      });
      const answer = await told.json();
      if (answer.res_action === 0 || answer.res_action === 3) return answer;
      why = answer.errortxt;
    } catch (error) {
      why = error.message; // no answer, a broken one, none of ours
    }
    if (Date.now() > until) throw new Error(`not clear yet, keep the tag ${tag}: ${why}`);
    await sleep(pause);
  }
}

(async () => {
  const opened = await fiscal("day-1", { task: 0, cashier: "Olena" });
  if (opened.res !== 0 && opened.res !== 1096) throw new Error(opened.errortxt);
  const row = { code: "7", name: "Чай, кг", cnt: "0.125", price: "333.60", taxgrp: 1 };
  const receipt = { sum: "41.70", rows: [row], pays: [{ type: 0, sum: "50" }] };
  const sold = await fiscal("order-1001", { task: 1, cashier: "Olena", receipt });
  if (sold.res !== 0) throw new Error(sold.errortxt);
  console.log(sold.info.doccode);
})();
