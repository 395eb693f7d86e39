import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { SettledRecord } from '#extension';
import { type ObjectStorage, StoreFault, type StorageSinkSetting } from '../../../platform';
import { SinkFailure } from '../failure';
import type { Sink } from '../registered-tap';

const compress = promisify(gzip);

export const storageSink = (setting: StorageSinkSetting, storage: ObjectStorage): Sink => {
  const { name, place, batch, timeoutMs, everyMs } = setting;
  return {
    ...{ name, kind: 's3', batchSize: batch, timeoutMs, everyMs },
    target: `s3://${place.bucket}/${place.prefix} (${new URL(place.endpoint).host})`,
    async send(records, signal) {
      const names: string[] = [];
      for (const [folder, group] of Map.groupBy(records, folderOf)) {
        const object = `${folder}${nameOf(group)}`;
        const lines = group.map((record) => `${JSON.stringify(record)}\n`).join('');
        // A content-encoding header would make some stores decompress the object; the suffix of the name is enough.
        const options = { contentType: 'application/gzip', signal };
        await storage.put(object, await compress(lines), options).catch(throwSinkFailure);
        names.push(object);
      }
      return `200: ${names.join(', ')}`;
    },
  };
};

/** Those engines ignore names that start with `_`. */
function folderOf({ created_at: at, test }: SettledRecord): string {
  const [, year, month, day, hour] = /^(\d{4})-(\d\d)-(\d\d)T(\d\d)/.exec(at)!;
  return test === true ? '_test/' : `year=${year}/month=${month}/day=${day}/hour=${hour}/`;
}

/** Identical records get the same name, so that sending them again replaces the object. */
function nameOf(records: readonly SettledRecord[]): string {
  const [first, last] = [records[0]!, records.at(-1)!];
  const time = first.created_at.replace(/[-:]|\.\d+/g, '');
  return `${time}_${first.request_id}_${last.request_id}_${records.length}.jsonl.gz`;
}

function throwSinkFailure(error: unknown): never {
  if (!(error instanceof StoreFault)) throw error;
  const { status, message, retryAfterMs } = error;
  throw new SinkFailure(status === 429 || status === 503 ? 'busy' : 'unknown', message, {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
