import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const project = join(__dirname, '..', '..', '..');
const read = (file: string): string => readFileSync(join(project, file), 'utf8');

it('the image runs what npm run serve runs', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const [, command] = /^CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
  expect(['exec', ...(JSON.parse(command ?? '[]') as string[])].join(' ')).toBe(scripts.serve);
});
