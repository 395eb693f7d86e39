import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildExtension } from '../../support/extension-folder';
import { Program, projectFolder } from '../../system/program';
import { PortalFixture } from '../admin/portal-fixture';
import { describeRouteContract } from './contract-suite';

/*
 * "Decorated classes cannot be tested outside a 40 s process […] a double generated from the contract, one contract
 * suite runs against double and host".
 */

interface ServedTestDouble {
  readonly url: string;
  readonly people: Readonly<Record<string, Record<string, string>>>;
  readonly key: Record<string, string>;
}

// The double is loaded as in a team's own tests: from the package, next to Nest.
describeRouteContract('the test double', async () => {
  const desk = buildExtension('test/fixtures/extensions/desk');
  for (const name of ['@nestjs', 'rxjs'])
    symlinkSync(join(projectFolder, 'node_modules', name), join(desk.path, 'node_modules', name));
  const script = join(projectFolder, 'test/fixtures/extensions/desk-double.cjs');
  const program = Program.run(process.execPath, [script], {}, { folder: desk.path });
  const [, served = ''] = await program.find(/^ready (.*)$/m);
  const { url, people, key } = JSON.parse(served) as ServedTestDouble;
  return {
    url,
    signedIn: (role) => Promise.resolve(people[role] ?? {}),
    withKey: () => key,
    close: async () => {
      await program.stop();
      desk.remove();
    },
  };
});

describeRouteContract('the service', async () => {
  const desk = buildExtension('test/fixtures/extensions/desk');
  const fixture = await PortalFixture.open({ environment: { EXTENSIONS: desk.path } });
  return {
    url: fixture.app.url,
    signedIn: async (role) => {
      const { cookie } = await fixture.person(role);
      return { cookie, 'sec-fetch-site': 'same-origin' };
    },
    withKey: () => ({ authorization: `Bearer ${fixture.app.firstKeys!.demo}` }),
    close: async () => {
      await fixture.close();
      desk.remove();
    },
  };
});

test('the generated test double matches the types of the contract', async () => {
  const script = join(projectFolder, 'scripts/generate-test-host.cjs');
  expect(await Program.run(process.execPath, [script, '--check']).finish(60_000)).toMatchObject({
    code: 0,
    text: '',
  });
});
