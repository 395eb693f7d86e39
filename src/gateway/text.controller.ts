import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res } from '@nestjs/common';
import { addUncheckedHeader } from '../platform';
import { Access, type HttpRequest } from '../web';
import { ClaudeCodeBudgets } from './claude-code/claude-code-budgets';
import { type GatewayOperation, operations } from './operations/operation';
import { Pipeline } from './pipeline';
import { sendReply } from './reply/send-reply';

const setAnthropicRequestId = ({ requestId }: HttpRequest, response: ServerResponse): void =>
  addUncheckedHeader(response, 'request-id', requestId);

/**
 * Text generation, streaming and non-streaming. These routes send their responses themselves, as an interceptor would
 * cost as much as the rest of the request's processing.
 */
@Controller()
export class TextController {
  constructor(
    private readonly pipeline: Pipeline,
    private readonly budgets: ClaudeCodeBudgets,
  ) {}

  @Post('/v1/chat/completions')
  @Access.chat()
  chat(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.respond(operations.chat, request, response);
  }

  @Post('/v1/completions')
  @Access.bearer()
  completions(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.respond(operations.completions, request, response);
  }

  @Post('/v1/messages')
  @Access.eitherHeader()
  messages(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    setAnthropicRequestId(request, response);
    const answer = () => this.respond(operations.messages, request, response);
    return this.budgets.setMostUsedBudget(request)?.then(answer) ?? answer();
  }

  @Post('/v1/responses')
  @Access.bearer()
  responses(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.respond(operations.responses, request, response);
  }

  @Post('/v1/native/responses')
  @Access.bearer()
  native(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.respond(operations.native, request, response);
  }

  private async respond(
    operation: GatewayOperation,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> {
    const reply = await this.pipeline.run(operation, request, response);
    if (reply !== null) sendReply(response, reply);
  }
}
