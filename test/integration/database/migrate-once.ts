import 'reflect-metadata';
import { migrations } from '../../../migrations';
import { migrate } from '../../../src/platform/database/migrate';

migrate({ url: process.argv[2] ?? '', migrations, queue: true }).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
