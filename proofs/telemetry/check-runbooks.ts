import type { Findings } from '../../test/system/findings';
import { Program } from '../../test/system/program';
import type { GatewayProcess } from '../outages/testbed';
import type { PrometheusServer } from './prometheus-server';
import { runbooks } from './runbooks';
import type { TelemetryTestbed } from './scene';

/** Commands without side effects that exit with 0 on a healthy installation. */
const HARMLESS_COMMANDS = ['journal:forget', 'tap:list', 'audit:breaks', 'money:verify --full'];
/** Commands and series of events that do not happen here. */
const ABSENT = /^backup\b|gateway_\(?(backup|embedded_database|webhook|unpriced)|stream_/;

/** Verifies that the instructions of every runbook work as written. */
export async function checkRunbooks(
  findings: Findings,
  prometheus: PrometheusServer,
  scene: TelemetryTestbed,
): Promise<void> {
  await checkPatterns(findings, scene);
  await checkCommands(findings, scene.testbed.shared);
  const failures: string[] = [];
  const statements = runbooks.flatMap((runbook) => runbook.statements);
  for (const sql of statements)
    await scene.testbed.books.database
      .query(sql)
      .catch((error: unknown) => failures.push(`${String(error)}: ${sql}`));
  findings.addCases(
    'SQL of runbooks that PostgreSQL takes',
    statements.length,
    failures.length,
    failures.join('\n') || `${statements.length}`,
  );
  const queries = runbooks.flatMap((runbook) => runbook.queries);
  const rejectedQueries: string[] = [];
  for (const query of queries)
    await prometheus.count(query).catch((error: unknown) => rejectedQueries.push(String(error)));
  findings.addCases(
    'queries of runbooks that Prometheus takes',
    queries.length,
    rejectedQueries.length,
    rejectedQueries.join('\n') || `${queries.length}`,
  );
}

async function checkPatterns(findings: Findings, { metricsUrls }: TelemetryTestbed): Promise<void> {
  const texts = await Promise.all(metricsUrls.map(async (url) => (await fetch(url)).text()));
  const patterns = runbooks
    .flatMap((runbook) => runbook.patterns)
    .filter(({ source }) => !ABSENT.test(source));
  const unmatchedPatterns = patterns.filter((pattern) => !texts.some((text) => pattern.test(text)));
  findings.addCases(
    'greps of runbooks that find something',
    patterns.length,
    unmatchedPatterns.length,
    unmatchedPatterns.map(String).join('\n') || `${patterns.length}`,
  );
}

async function checkCommands(findings: Findings, { environment }: GatewayProcess): Promise<void> {
  const run = async (words: readonly string[]): Promise<string | null> => {
    const { code, text } = await Program.node('bundle/cli.js', words, environment).finish();
    return code === 0 ? null : `${words.join(' ')} ended with ${code}: ${text.slice(-200)}`;
  };
  const documentedCommands = runbooks
    .flatMap(({ commands }) => commands)
    .filter((command) => !ABSENT.test(command));
  const nameOf = (command: string): string => /^[a-z:-]+( (?:list|revoke))?/.exec(command)?.[0] ?? command;
  const names = [...new Set(documentedCommands.map(nameOf))];
  const helpResults = await Promise.all(names.map((name) => run([...name.split(' '), '--help'])));
  const answers = [];
  for (const command of HARMLESS_COMMANDS) answers.push(await run(command.split(' ')));
  const failures = [...helpResults, ...answers].filter((result) => result !== null);
  findings.addCases(
    'commands of runbooks that exist, or answer',
    helpResults.length + answers.length,
    failures.length,
    failures.join('\n') || names.join(', '),
  );
}
