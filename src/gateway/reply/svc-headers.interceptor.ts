import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import type { Reply } from './reply';
import { svcHeaders } from './svc-headers';

/** Sends whole answers with the `x-svc-*` headers on them. A streamed answer has been sent by its sink already. */
@Injectable()
export class SvcHeadersInterceptor implements NestInterceptor<Reply | null> {
  intercept(context: ExecutionContext, next: CallHandler<Reply | null>): Observable<Reply | null> {
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(
      tap((reply) => {
        if (reply !== null) sendReply(response, reply);
      }),
    );
  }
}

function sendReply(response: ServerResponse, reply: Reply): void {
  response.statusCode = reply.status;
  for (const [name, value] of Object.entries(svcHeaders(reply.facts))) response.setHeader(name, value);
  if (reply.headers !== undefined) response.setHeaders(new Map(Object.entries(reply.headers)));
  response.setHeader('content-type', reply.contentType);
  response.setHeader('content-length', reply.body.length);
  response.end(reply.body);
}
