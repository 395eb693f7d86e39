import type { ServerResponse } from 'node:http';
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { Access, type HttpRequest } from '../../web';
import { TokenCounter } from './token-counter';

@Controller()
export class CountTokensController {
  constructor(private readonly counter: TokenCounter) {}

  @Post('/v1/messages/count_tokens')
  @HttpCode(200)
  @Access.eitherHeader()
  async count(
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<{ input_tokens: number }> {
    response.setHeader('request-id', request.requestId);
    const { tokens, exact } = await this.counter.count(request, response);
    response.setHeader('x-svc-token-count', exact ? 'exact' : 'estimate');
    return { input_tokens: tokens };
  }
}
