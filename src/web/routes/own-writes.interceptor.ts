import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { mergeMap, type Observable } from 'rxjs';
import { OwnWrites } from '../../platform';
import { requestOf } from '../http-request';

const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Delays the response until the change is in force on this node, or marks it as pending after `APPLY_TIMEOUT`. */
@Injectable()
export class OwnWritesInterceptor implements NestInterceptor {
  constructor(private readonly writes: OwnWrites) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (READ_METHODS.has(requestOf(context).method ?? 'GET')) return next.handle();
    return next.handle().pipe(mergeMap((result: unknown) => this.waitUntilApplied(context, result)));
  }

  private async waitUntilApplied(context: ExecutionContext, result: unknown): Promise<unknown> {
    const response = context.switchToHttp().getResponse<ServerResponse>();
    if (!(await this.writes.apply()) && !response.headersSent) response.setHeader('x-svc-applied', 'pending');
    return result;
  }
}
