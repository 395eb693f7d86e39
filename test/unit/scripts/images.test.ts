import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parse } from 'yaml';

const root = join(__dirname, '../../..');
const text = (name: string): string => readFileSync(join(root, name), 'utf8');
const DIGEST = /@sha256:[0-9a-f]{64}$/;

interface Service {
  readonly image?: string;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const { services } = parse(text('docker-compose.yml')) as { services: Readonly<Record<string, Service>> };

// "image without digests, cap_drop, no-new-privileges; Redis without a password".
test('every image is pinned by its digest', () => {
  const bases = [...text('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
  const images = Object.values(services).flatMap(({ image }) => image ?? []);
  expect(bases).toHaveLength(2);
  expect(images).toHaveLength(4);
  expect([...bases, ...images].filter((image) => !DIGEST.test(image))).toEqual([]);
});

test.each(Object.entries(services))('the container of %s drops capabilities and gains none', (_, service) => {
  expect(service.cap_drop).toEqual(['ALL']);
  expect(service.security_opt).toEqual(['no-new-privileges:true']);
});

test('Redis asks for a password, which the service knows', () => {
  expect(services['redis']?.environment).toEqual({ REDISCLI_AUTH: '${REDIS_PASSWORD:?set it in .env}' });
  expect(JSON.stringify(services['redis'])).toContain('--requirepass');
  expect(services['app']?.environment?.['REDIS_URL']).toContain(':${REDIS_PASSWORD:?set it in .env}@redis');
});

interface CheckLockfile {
  readonly unjudged: (lock: { packages: Readonly<Record<string, object>> }) => string[];
}

// Install scripts of packages are not run, except those that scripts/bootstrap runs by name.
test('a package with an install script that is neither needed nor known is reported', () => {
  const { unjudged } = createRequire(__filename)(
    '../../../scripts/bootstrap/install-scripts.cjs',
  ) as CheckLockfile;
  const lock = JSON.parse(text('package-lock.json')) as { packages: Record<string, object> };
  expect(unjudged(lock)).toEqual([]);
  const packages = { ...lock.packages, 'node_modules/fresh': { hasInstallScript: true } };
  expect(unjudged({ packages })).toEqual(['fresh']);
});
