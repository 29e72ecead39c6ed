// What the tests of the pages share: a memory with an owner, and Chromium.
import { execFileSync, spawn } from "node:child_process";
import { chromium } from "playwright-core";

export function memory(command, home) {
  const holdfast = (words, input) => execFileSync(command, ["memory", ...words, "--home", home], { input, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"], maxBuffer: 1 << 28 });
  let daemon;
  const ended = () => new Promise((gone) => {
    daemon.removeAllListeners("exit");
    daemon.exitCode !== null || daemon.signalCode !== null ? gone() : daemon.on("exit", gone);
  });
  return {
    holdfast,
    link: () => holdfast(["open", "--print"]).trim(),
    // The address that the owner says, "http://127.0.0.1:PORT/".
    async start(port) {
      daemon = spawn(command, ["memory", "daemon", "--home", home, "--port", String(port)], { stdio: ["ignore", "ignore", "pipe"] });
      await new Promise((ready, failed) => {
        daemon.stderr.on("data", (text) => String(text).includes("viewer at") && ready());
        daemon.on("exit", () => failed(new Error("the daemon ended")));
      });
      for (let attempt = 0; attempt < 6000; attempt++) {
        const { viewer } = JSON.parse(holdfast(["status", "--json"]));
        if (viewer) return viewer;
        await new Promise((again) => setTimeout(again, 50));
      }
      throw new Error("no address");
    },
    async stop(signal = "SIGTERM") {
      if (!daemon) return;
      const gone = ended();
      daemon.kill(signal);
      await gone;
    },
  };
}

export const browser = (profile) => chromium.launchPersistentContext(profile, {
  executablePath: "/usr/bin/chromium",
  headless: true,
  colorScheme: "light",
  viewport: { width: 1200, height: 860 },
  acceptDownloads: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
