import { World } from '../operations/world';
import { buildExtension } from '../../test/support/extension-folder';
import { Findings, runProof } from '../../test/system/findings';
import { type ServedRoute, servedRoutes } from '../../test/system/routes';
import { publicIdOf } from '#inside/keys/key-text';
import { runKeyTiming } from './key-timing';
import { runLeaks } from './leaks';
import { runMassAssignment } from './mass-assignment';
import { runMatrix } from './matrix';
import { Tenants } from './tenants';

const MAX_SHOWN = 60;

/** Routes of portal and administration; gateway routes are protected by keys and have their own proofs. */
const isPortalRoute = ({ access, path }: ServedRoute): boolean =>
  access !== 'key' && !path.startsWith('/v1/') && !path.startsWith('/v2/') && path !== '/health/ready';

/**
 * Calls every registered route as every caller on objects of every relation, and compares with an independent policy.
 * `--only <text>` selects the routes whose path contains the text.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:access');
  const example = buildExtension('examples/extensions/cost-centres');
  const world = await World.open({ EXTENSIONS: example.path, KEY_FAILURES_PER_MINUTE: '1000000' });
  try {
    const places = await Tenants.open(world);
    const isFiltered = process.argv.includes('--only');
    const pathFilter = process.argv[process.argv.indexOf('--only') + 1] ?? '';
    const all = (await servedRoutes(world.url)).filter(isPortalRoute);
    const routes = isFiltered ? all.filter(({ path }) => path.includes(pathFilter)) : all;
    // With a filter there can be fewer cases than the proof requires.
    const reportCases: Findings['expectNoneWrong'] = (what, cases, wrong, found) =>
      isFiltered && cases === 0
        ? findings.addSkipped(what, `no route with ${pathFilter} is one`)
        : findings.expectNoneWrong(what, cases, wrong, found);
    const matrix = await runMatrix(places, routes);
    printFailures(matrix.failures);
    findings.expectNoneWrong(
      'every cell is as the policy says',
      matrix.cells,
      matrix.failures.length,
      `${matrix.cells} cells of ${routes.length} routes, ${matrix.failures.length} are not; ${matrix.compared} compared with absent`,
    );
    const massAssignment = await runMassAssignment(places, routes);
    printFailures(massAssignment.failures);
    reportCases(
      'what a form does not have changes nothing',
      massAssignment.tried,
      massAssignment.failures.length,
      `${massAssignment.tried} changes with a smuggled field, ${massAssignment.failures.length} did something`,
    );
    const leaks = await runLeaks(places, routes);
    printFailures(leaks.failures);
    reportCases(
      'lists, pickers, searches, groupings and files hold nothing foreign',
      leaks.readCount,
      leaks.failures.length,
      `${leaks.readCount} read, ${leaks.failures.length} with something foreign`,
    );
    const timing = await runKeyTiming(world.anonymous, publicIdOf(world.gateway.node.keys.demo) ?? '');
    findings.expectNoneWrong(
      'an unknown key and a wrong secret take equally long',
      timing.requestCount,
      timing.isBiased ? 1 : 0,
      `the unknown one was slower in ${(100 * timing.share).toFixed(1)} % of all pairs`,
    );
  } finally {
    await world.close();
    example.remove();
  }
  findings.end();
}

function printFailures(failures: readonly string[]): void {
  for (const line of failures.slice(0, MAX_SHOWN)) process.stdout.write(`wrong   ${line}\n`);
}

runProof(main);
