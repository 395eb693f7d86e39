import { fstatSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ownProcess, processEnvironment, type Settings, supervised } from '../platform';
import { developmentToken, isForDevelopment } from '../web';
import type { FirstKeys } from './first-boot';
import type { RunningService } from './start-service';

/** The start message for a person. Keys are shown once and never logged: a log would keep them. */
export function announce(service: RunningService, settings: Settings, milliseconds: number): void {
  if (isForDevelopment(settings) && (supervised()?.number ?? 1) === 1) announceOutbox(settings);
  // The supervisor speaks for its processes, but only one of them knows the keys that it made.
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
    const first = [
      // Cookies and passkeys are bound to this host, which an address of the machine is not.
      ...firstStart(settings.baseUrl, service.firstKeys),
      ...(service.sandbox ? firstRequest(service.url, service.firstKeys.demo) : firstSupplier),
    ];
    const isFile = settings.firstKeys === 'file' || (settings.firstKeys === 'auto' && isJournal());
    lines.push(...(isFile ? keptAside(settings.dataFolder, first) : first));
  }
  process.stdout.write(`\n${lines.join('\n')}\n\n`);
}

const announceOutbox = (settings: Settings): void => {
  const token = developmentToken(settings);
  process.stdout.write(`\nMails of this development start: ${settings.baseUrl}/dev/outbox?token=${token}\n`);
};

/** systemd names the device and the inode of its journal to what it starts (systemd.exec(5), $JOURNAL_STREAM). */
function isJournal(): boolean {
  const { dev, ino } = fstatSync(process.stdout.fd, { bigint: true });
  return processEnvironment['JOURNAL_STREAM'] === `${dev}:${ino}`;
}

function keptAside(dataFolder: string, lines: readonly string[]): string[] {
  const path = resolve(dataFolder, 'first-start.txt');
  rmSync(path, { force: true });
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return [
    '',
    'This is the first start. Two keys were made, and a link by which the owner signs in. A log would keep them:',
    `read them in ${path}, then delete that file.`,
  ];
}

const firstStart = (portal: string, keys: FirstKeys): string[] => [
  '',
  'This is the first start. Two keys were made; they are shown only now:',
  `  root admin key  ${keys.root}`,
  `  demo key        ${keys.demo}`,
  '',
  'The owner signs in with this link, once, within 24 hours:',
  `  ${portal}/sign-in-link?token=${keys.signIn}`,
  '',
];

const firstRequest = (url: string, key: string): string[] => [
  'A first request:',
  `  curl ${url}/v1/chat/completions \\`,
  `    -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
  `    -d '{"model":"sim-small","messages":[{"role":"user","content":"Hello"}]}'`,
];

const firstSupplier = [
  'There is no model yet. Describe a supplier and its models in a file like examples/gateway.yaml, then:',
  '  npm run cli -- apply gateway.yaml',
];
