import { fstatSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ownProcess, processEnvironment, type Settings, supervised } from '../platform';
import { developmentToken, servesDeveloperPages } from '../web';
import type { FirstKeys } from './first-boot';
import type { RunningService } from './start-service';

/** Prints the start message. Keys are shown once and never logged. */
export function announce(service: RunningService, settings: Settings, milliseconds: number): void {
  if (servesDeveloperPages(settings) && (supervised()?.number ?? 1) === 1) announceOutbox(settings);
  // The supervisor prints the message for its processes, but only one of them knows the keys that it created.
  if (ownProcess !== null && service.firstKeys === null) return;
  const lines = [`${settings.brandName} is ready at ${service.url} (${(milliseconds / 1000).toFixed(1)} s).`];
  if (service.sandbox) {
    lines.push(
      'The built-in sandbox simulates the sim-* models. Once a supplier of yours serves a model, the overview offers to ' +
        'remove it.',
    );
  }
  if (settings.processor === 'sandbox') {
    lines.push(
      'Payments are simulated (PROCESSOR=sandbox): no money moves, and cards and customers there go with this start.',
    );
  }
  if (service.firstKeys !== null) {
    const firstStartLines = [
      // Cookies and passkeys are bound to the host of the base URL.
      ...firstStartMessage(settings.baseUrl, service.firstKeys),
      ...(service.sandbox ? firstRequestExample(service.url, service.firstKeys.demo) : firstSupplierHint),
    ];
    const shouldWriteFile =
      settings.firstKeys === 'file' || (settings.firstKeys === 'auto' && isJournalOutput());
    lines.push(
      ...(shouldWriteFile ? writeFirstStartFile(settings.dataFolder, firstStartLines) : firstStartLines),
    );
  }
  process.stdout.write(`\n${lines.join('\n')}\n\n`);
}

const announceOutbox = (settings: Settings): void => {
  const token = developmentToken(settings);
  process.stdout.write(`\nMails of this development start: ${settings.baseUrl}/dev/outbox?token=${token}\n`);
};

/** systemd passes the device and inode of its journal to the processes it starts (systemd.exec(5), $JOURNAL_STREAM). */
function isJournalOutput(): boolean {
  const { dev, ino } = fstatSync(process.stdout.fd, { bigint: true });
  return processEnvironment['JOURNAL_STREAM'] === `${dev}:${ino}`;
}

function writeFirstStartFile(dataFolder: string, lines: readonly string[]): string[] {
  const path = resolve(dataFolder, 'first-start.txt');
  rmSync(path, { force: true });
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return [
    '',
    'This is the first start. Two keys were made, and a link by which the owner signs in. A log would keep them:',
    `read them in ${path}, then delete that file.`,
  ];
}

const firstStartMessage = (portal: string, keys: FirstKeys): string[] => [
  '',
  'This is the first start. Two keys were made; they are shown only now:',
  `  root admin key  ${keys.root}`,
  `  demo key        ${keys.demo}`,
  '',
  'The owner signs in with this link, once, within 24 hours:',
  `  ${portal}/sign-in-link?token=${keys.signIn}`,
  '',
];

const firstRequestExample = (url: string, key: string): string[] => [
  'A first request:',
  `  curl ${url}/v1/chat/completions \\`,
  `    -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
  `    -d '{"model":"sim-small","messages":[{"role":"user","content":"Hello"}]}'`,
];

const firstSupplierHint = [
  'There is no model yet. Describe a supplier and its models in a file like examples/gateway.yaml, then:',
  '  npm run cli -- apply gateway.yaml',
];
