import 'reflect-metadata';
import { migrations } from '#migrations';
import { migrate } from '#inside/platform/database/migrate';

migrate({ url: process.argv[2] ?? '', migrations, queue: true }).catch((error: unknown) => {
  process.stderr.write(String(error));
  process.exitCode = 1;
});
