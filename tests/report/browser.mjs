// Opens a page in headless Chromium at the width of a desk and of a phone, by day and by night.
// Prints as JSON what axe-core objects to, what the console says, what the page asks the network
// for, and whether it is wider than the window. Usage: node browser.mjs PAGE CHROMIUM
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.env.FAIRMED_NODE_MODULES + "/");
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [page_path, chromium] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
const found = [];
for (const [width, scheme, script] of [
  [1280, "light", true], [390, "light", true], [1280, "dark", true], [390, "dark", false],
]) {
  const page = await browser.newPage();
  const seen = { width, scheme, script, console: [], requests: [] };
  await page.setBypassCSP(true); // for axe alone; the page's own policy is checked below
  await page.setJavaScriptEnabled(script);
  page.on("console", (message) => seen.console.push(message.text()));
  page.on("pageerror", (error) => seen.console.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) seen.requests.push(request.url().slice(0, 100));
  });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setViewport({ width, height: 900 });
  await page.goto("file://" + page_path);
  seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  seen.tools = await page.evaluate(() => document.querySelectorAll(".tools").length);
  if (script) {
    await page.evaluate(axe);
    seen.violations = await page.evaluate(async () =>
      (await axe.run()).violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 120)}`));
  }
  found.push(seen);
  await page.close();
}
// Under the page's own policy its script runs, and no other does.
const page = await browser.newPage();
const errors = [];
page.on("console", (message) => errors.push(message.text()));
await page.goto("file://" + page_path);
const own = await page.evaluate(() => document.querySelectorAll(".tools").length);
const before = errors.length;
const strange = await page.evaluate(() => {
  const script = document.createElement("script");
  script.textContent = "window.strange = true";
  document.body.append(script);
  return window.strange === true;
});
found.push({ own, strange, errors: errors.slice(0, before) });
console.log(JSON.stringify(found));
await browser.close();
