import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Logger } from '@nestjs/common';
import { runProof } from '../../test/system/findings';
import { usageGroupings } from '#product/audit';
import { PortalSite, type PortalVisitor } from './portal-site';

const DEFAULT_ROWS = 10_000_000;
const bars = { usage: 300, home: 150, log: 100 } as const;
const ROUND_COUNT = 3;
const ROWS_IN_FILE = 1_000_000;
const ROWS_IN_PART = 100_000;
const MAX_GROWTH_MB = 16;

/**
 * Measures usage pages, the request log and the home page among many records, as a browser loads them. Takes the number
 * of records as an argument.
 */
async function main(): Promise<void> {
  Logger.overrideLogger(['error']);
  const site = await PortalSite.open(Number(process.argv[2] ?? DEFAULT_ROWS));
  try {
    const verdicts: boolean[] = [];
    // Excludes one-time work of a process, such as compiling templates.
    for (const path of ['/dashboard', '/dashboard/usage', '/dashboard/request-log'])
      for (const visitor of site.visitors) await (await visitor.get(path)).arrayBuffer();
    for (const visitor of site.visitors) {
      verdicts.push(...(await measurePages(visitor, 'home', bars.home, homes)));
      verdicts.push(...(await measurePages(visitor, 'usage', bars.usage, usages)));
      verdicts.push(...(await measurePages(visitor, 'log', bars.log, logs)));
      verdicts.push(await timed(visitor, 'log: the third page', bars.log, await thirdPageOf(visitor)));
    }
    const key = { ...site.largest, name: 'the largest key' };
    verdicts.push(
      ...(await measurePages(key, 'usage', bars.usage, {
        'of a program': '/v1/usage',
        'of a program, by model': '/v1/usage?group_by=model',
      })),
    );
    verdicts.push(await measureFile(site));
    process.stdout.write(`\nbench:portal: ${verdicts.filter(Boolean).length} of ${verdicts.length} held\n`);
    process.exitCode = verdicts.every(Boolean) ? 0 : 1;
  } finally {
    await site.close();
  }
}

type PagePaths = Readonly<Record<string, string>>;

const homes: PagePaths = {
  '30 days': '/dashboard',
  '7 days': '/dashboard?days=7',
  '90 days': '/dashboard?days=90',
};

const usages: PagePaths = {
  ...Object.fromEntries(
    usageGroupings.map((group) => [`by ${group}`, `/dashboard/usage?days=30&group_by=${group}`]),
  ),
  latencies: '/dashboard/usage?days=30&measure=latency&group_by=model',
  'days of Kolkata': '/dashboard/usage?days=30&group_by=model&zone=Asia/Kolkata',
  'of a model, in a region, by key': '/dashboard/usage?days=30&group_by=key&model=other&region=us-east',
  'of a person': '/dashboard/usage?days=30&group_by=model&user=50',
  'as data': '/dashboard/api/usage?days=30&group_by=key',
  'as a file': '/dashboard/usage/export?days=30&group_by=key',
};

const filters: PagePaths = {
  none: '',
  'a usual model': 'model=usual',
  'a seldom model': 'model=seldom',
  'a model without hits': 'model=never',
  'a key': 'key=51',
  'a person': 'user=50',
  'a person without hits': 'user=900',
  'a project': 'project=3',
  'an organisation': 'organisation=12',
  'a supplier': 'supplier=second',
  'a supplier without hits': 'supplier=never',
  'a region': 'region=us-east',
  failures: 'status=5xx',
  'a usual code': 'code=upstream_error',
  'a seldom code': 'code=seldom_error',
  'a code without hits': 'code=never',
  successes: 'status=2xx',
  failover: 'failover=yes',
  'a cost': 'min_cost=0.000001',
  'a cost without hits': 'min_cost=0.001',
  'slow ones': 'min_latency=50000',
  'a latency without hits': 'min_latency=100000',
  'a session': 'session=session-33',
  'a request id without hits': 'request_id=0193a4c2-7be1-7c30-9f15-2d4b8c61e07a',
  'an end user': 'end_user=end-user-33',
  'an end user without hits': 'end_user=never',
  'a usual tag': 'tag=all',
  'a seldom tag': 'tag=seldom',
  'a model, slow': 'model=other&min_latency=1200',
  'a supplier, failed over, in a region': 'supplier=second&region=us-east&failover=yes',
};
const logs: PagePaths = Object.fromEntries(
  Object.entries(filters).map(([name, query]) => [name, `/dashboard/request-log?${query}`]),
);

async function measurePages(
  visitor: PortalVisitor,
  what: string,
  mostMs: number,
  addresses: PagePaths,
): Promise<boolean[]> {
  const verdicts: boolean[] = [];
  for (const [name, path] of Object.entries(addresses))
    verdicts.push(await timed(visitor, `${what}: ${name}`, mostMs, path));
  return verdicts;
}

/** Slowest of three loads; only the first one starts with a cold cache. */
async function timed(visitor: PortalVisitor, what: string, mostMs: number, path: string): Promise<boolean> {
  let slowest = 0;
  for (let turn = 0; turn < ROUND_COUNT; turn += 1) {
    const startedAt = performance.now();
    await (await visitor.get(path)).arrayBuffer();
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  return printVerdict(
    slowest <= mostMs,
    `${visitor.name}, ${what}`,
    `${slowest.toFixed(1)} ms, at most ${mostMs}`,
  );
}

async function thirdPageOf(visitor: PortalVisitor): Promise<string> {
  let path = '/dashboard/request-log';
  for (let page = 1; page < 3; page += 1) {
    const html = await (await visitor.get(path)).text();
    const next = /href="([^"]*[?&;]cursor(?:=|&#x3D;)[^"]*)"/.exec(html)?.[1];
    if (next === undefined) throw new Error(`page ${page} of the log leads nowhere`);
    path = next.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&');
  }
  return path;
}

/**
 * A log export is read page by page, so memory must not grow with its rows. Memory is measured after each part, once
 * garbage is collected.
 */
async function measureFile({ visitors: [platform] }: PortalSite): Promise<boolean> {
  if (platform === undefined) throw new Error('no visitor');
  const startedAt = performance.now();
  const { body } = await platform.get('/dashboard/request-log/export?days=60');
  const parts: number[] = [];
  // The header line does not count as a row.
  let rows = -1;
  for await (const part of body ?? []) {
    for (const byte of part) if (byte === LINE_END) rows += 1;
    if (rows >= (parts.length + 1) * ROWS_IN_PART) parts.push(heapAfterGcMb());
  }
  const growth = Math.max(...parts) - (parts[0] ?? 0);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  const figures = `${rows.toLocaleString('en')} rows, ${seconds} s: memory grew by ${growth.toFixed(1)} MB, at most ${MAX_GROWTH_MB}`;
  return printVerdict(growth <= MAX_GROWTH_MB && rows === ROWS_IN_FILE, 'the log as a file', figures);
}

const LINE_END = 10;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapAfterGcMb(): number {
  collect();
  return process.memoryUsage().heapUsed / 1_048_576;
}

function printVerdict(isMet: boolean, what: string, figures: string): boolean {
  process.stdout.write(`${isMet ? 'held  ' : 'FAILED'}  ${what.padEnd(64)} ${figures}\n`);
  return isMet;
}

runProof(main);
