import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parse } from 'yaml';

const root = join(__dirname, '../../..');
const text = (name: string): string => readFileSync(join(root, name), 'utf8');
const DIGEST = /@sha256:[0-9a-f]{64}$/;

interface ComposeService {
  readonly image?: string;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const { services } = parse(text('docker-compose.yml')) as {
  services: Readonly<Record<string, ComposeService>>;
};

// "image without digests, cap_drop, no-new-privileges; Redis without a password".
test('every image is pinned by its digest', () => {
  const bases = [...text('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
  const images = Object.values(services).flatMap(({ image }) => image ?? []);
  expect(bases).toHaveLength(2);
  expect(images).toHaveLength(4);
  expect([...bases, ...images].filter((image) => !DIGEST.test(image))).toEqual([]);
});

test.each(Object.entries(services))('container %s drops capabilities and gains none', (_, service) => {
  expect(service.cap_drop).toEqual(['ALL']);
  expect(service.security_opt).toEqual(['no-new-privileges:true']);
});

test('Redis requires a password that the service has', () => {
  expect(services['redis']?.environment).toEqual({ REDISCLI_AUTH: '${REDIS_PASSWORD:?set it in .env}' });
  expect(JSON.stringify(services['redis'])).toContain('--requirepass');
  expect(services['app']?.environment?.['REDIS_URL']).toContain(':${REDIS_PASSWORD:?set it in .env}@redis');
});

interface CheckLockfile {
  readonly unjudged: (lock: { packages: Readonly<Record<string, object>> }) => string[];
}

// Only the install scripts that scripts/bootstrap runs by name are executed.
test('unknown package with an install script is reported', () => {
  const { unjudged } = createRequire(__filename)(
    '../../../scripts/bootstrap/install-scripts.cjs',
  ) as CheckLockfile;
  const lock = JSON.parse(text('package-lock.json')) as { packages: Record<string, object> };
  expect(unjudged(lock)).toEqual([]);
  const packages = { ...lock.packages, 'node_modules/fresh': { hasInstallScript: true } };
  expect(unjudged({ packages })).toEqual(['fresh']);
});
