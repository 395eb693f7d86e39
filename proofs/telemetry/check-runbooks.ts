import type { Findings } from '../../test/system/findings';
import { Program } from '../../test/system/program';
import type { GatewayNode } from '../outages/testbed';
import type { PrometheusServer } from './prometheus-server';
import { runbooks } from './runbooks';
import type { Scene } from './scene';

/** They change nothing, and a healthy installation answers them with 0. */
const harmless = ['journal:forget', 'tap:list', 'audit:breaks', 'money:verify --full'];
/** Commands, and series of what did not happen here. */
const absent = /^backup\b|gateway_\(?(backup|embedded_database|webhook|unpriced)|stream_/;

/** What a page has its reader do works as it is written. */
export async function checkRunbooks(
  findings: Findings,
  prometheus: PrometheusServer,
  scene: Scene,
): Promise<void> {
  await checkPatterns(findings, scene);
  await checkCommands(findings, scene.testbed.shared);
  const wrong: string[] = [];
  const statements = runbooks.flatMap((runbook) => runbook.statements);
  for (const sql of statements)
    await scene.testbed.books.database
      .query(sql)
      .catch((error: unknown) => wrong.push(`${String(error)}: ${sql}`));
  findings.many(
    'SQL of runbooks that PostgreSQL takes',
    statements.length,
    wrong.length,
    wrong.join('\n') || `${statements.length}`,
  );
  const queries = runbooks.flatMap((runbook) => runbook.queries);
  const refused: string[] = [];
  for (const query of queries)
    await prometheus.count(query).catch((error: unknown) => refused.push(String(error)));
  findings.many(
    'queries of runbooks that Prometheus takes',
    queries.length,
    refused.length,
    refused.join('\n') || `${queries.length}`,
  );
}

async function checkPatterns(findings: Findings, { metricsUrls }: Scene): Promise<void> {
  const texts = await Promise.all(metricsUrls.map(async (url) => (await fetch(url)).text()));
  const patterns = runbooks
    .flatMap((runbook) => runbook.patterns)
    .filter(({ source }) => !absent.test(source));
  const vain = patterns.filter((pattern) => !texts.some((text) => pattern.test(text)));
  findings.many(
    'greps of runbooks that find something',
    patterns.length,
    vain.length,
    vain.map(String).join('\n') || `${patterns.length}`,
  );
}

async function checkCommands(findings: Findings, { environment }: GatewayNode): Promise<void> {
  const run = async (words: readonly string[]): Promise<string | null> => {
    const { code, text } = await Program.node('bundle/cli.js', words, environment).finish();
    return code === 0 ? null : `${words.join(' ')} ended with ${code}: ${text.slice(-200)}`;
  };
  const written = runbooks.flatMap(({ commands }) => commands).filter((each) => !absent.test(each));
  const nameOf = (command: string): string => /^[a-z:-]+( (?:list|revoke))?/.exec(command)?.[0] ?? command;
  const names = [...new Set(written.map(nameOf))];
  const known = await Promise.all(names.map((name) => run([...name.split(' '), '--help'])));
  const answers = [];
  for (const command of harmless) answers.push(await run(command.split(' ')));
  const wrong = [...known, ...answers].filter((each) => each !== null);
  findings.many(
    'commands of runbooks that exist, or answer',
    known.length + answers.length,
    wrong.length,
    wrong.join('\n') || names.join(', '),
  );
}
