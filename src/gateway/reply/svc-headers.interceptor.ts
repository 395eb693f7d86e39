import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import type { Reply } from './reply';
import { sendReply } from './send-reply';

/** Sends non-streaming responses with the `x-svc-*` headers. The sink has already sent a streamed response. */
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
