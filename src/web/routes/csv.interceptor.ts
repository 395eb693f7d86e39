import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { mergeMap, type Observable } from 'rxjs';
import { csvLine, type CsvTable } from './csv';

export const fileNameMetadata = 'switchboard:csv-file';

/**
 * A table's handler answers columns and rows; this streams them as a file. The first chunk is
 * there before the answer begins, so that a query that fails is refused and not half a file.
 */
@Injectable()
export class CsvInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler<CsvTable>): Observable<StreamableFile> {
    const name = this.reflector.get<string>(fileNameMetadata, context.getHandler());
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(mergeMap((table) => csvFile(table, name, response)));
  }
}

/** The table as a file to be sent, its headers set. */
export async function csvFile(
  table: CsvTable,
  name: string,
  response: ServerResponse,
): Promise<StreamableFile> {
  const chunks = await begun(chunksOf(table));
  const date = new Date().toISOString().slice(0, 10);
  response.setHeader('cache-control', 'no-store');
  if (table.cappedAt !== undefined) response.setHeader('x-svc-export-capped-at', String(table.cappedAt));
  return new StreamableFile(Readable.from(chunks), {
    type: 'text/csv; charset=utf-8',
    disposition: `attachment; filename="${name}_${date}_utc.csv"`,
  });
}

/** A chunk of an answer costs much more than a line. */
const CHUNK_LENGTH = 16_384;

/** The file in chunks; the first one carries the names of the columns. */
async function* chunksOf({ columns, rows }: CsvTable): AsyncGenerator<string> {
  let chunk = csvLine(columns);
  for await (const row of rows) {
    chunk += csvLine(row);
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

async function begun(chunks: AsyncGenerator<string>): Promise<AsyncGenerator<string>> {
  const first = await chunks.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* chunks;
  })();
}
