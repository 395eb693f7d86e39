import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { mergeMap, type Observable } from 'rxjs';
import { OwnWrites } from '../../platform';
import { requestOf } from '../http-request';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Answers a change when it is in force on this node, or says after `APPLY_TIMEOUT` that it is not yet. */
@Injectable()
export class OwnWritesInterceptor implements NestInterceptor {
  constructor(private readonly writes: OwnWrites) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (READS.has(requestOf(context).method ?? 'GET')) return next.handle();
    return next.handle().pipe(mergeMap((answer: unknown) => this.whenApplied(context, answer)));
  }

  private async whenApplied(context: ExecutionContext, answer: unknown): Promise<unknown> {
    const response = context.switchToHttp().getResponse<ServerResponse>();
    if (!(await this.writes.apply()) && !response.headersSent) response.setHeader('x-svc-applied', 'pending');
    return answer;
  }
}
