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
import { csvLine, type CsvContent } from './csv';

export const fileNameMetadata = 'switchboard:csv-file';

/**
 * Streams the table that a handler returns as a file. The first chunk is ready before the response starts, so that a
 * failing query is reported as an error instead of half a file.
 */
@Injectable()
export class CsvInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler<CsvContent>): Observable<StreamableFile> {
    const name = this.reflector.get<string>(fileNameMetadata, context.getHandler());
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(mergeMap((table) => csvFile(table, name, response)));
  }
}

export async function csvFile(
  table: CsvContent,
  name: string,
  response: ServerResponse,
): Promise<StreamableFile> {
  const startedChunks = await fetchFirstChunk(chunksOf(table));
  const date = new Date().toISOString().slice(0, 10);
  response.setHeader('cache-control', 'no-store');
  if (table.cappedAt !== undefined) response.setHeader('x-svc-export-capped-at', String(table.cappedAt));
  return new StreamableFile(Readable.from(startedChunks), {
    type: 'text/csv; charset=utf-8',
    disposition: `attachment; filename="${name}_${date}_utc.csv"`,
  });
}

/** Sending a chunk costs much more than a line. */
const CHUNK_LENGTH = 16_384;

async function* chunksOf({ columns, rows }: CsvContent): AsyncGenerator<string> {
  let chunk = csvLine(columns);
  for await (const row of rows) {
    chunk += csvLine(row);
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

async function fetchFirstChunk(chunks: AsyncGenerator<string>): Promise<AsyncGenerator<string>> {
  const first = await chunks.next();
  return (async function* () {
    if (first.done !== true) yield first.value;
    yield* chunks;
  })();
}
