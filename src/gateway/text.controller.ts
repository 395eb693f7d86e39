import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res } from '@nestjs/common';
import { addUncheckedHeader } from '../platform';
import { Access, type HttpRequest } from '../web';
import { ClaudeCodeBudgets } from './claude-code/claude-code-budgets';
import { type Operation, operations } from './operations/operation';
import { Pipeline } from './pipeline';
import { sendReply } from './reply/send-reply';

/** Its clients read the request's id under this name. */
const nameAsAnthropicDoes = ({ requestId }: HttpRequest, response: ServerResponse): void =>
  addUncheckedHeader(response, 'request-id', requestId);

/**
 * Generated text, whole or streamed. These routes send their answers themselves, because an interceptor would cost as
 * much as the rest of a request's processing.
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
    return this.answer(operations.chat, request, response);
  }

  @Post('/v1/completions')
  @Access.bearer()
  completions(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.answer(operations.completions, request, response);
  }

  @Post('/v1/messages')
  @Access.eitherHeader()
  messages(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    nameAsAnthropicDoes(request, response);
    const answer = () => this.answer(operations.messages, request, response);
    return this.budgets.note(request)?.then(answer) ?? answer();
  }

  @Post('/v1/responses')
  @Access.bearer()
  responses(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.answer(operations.responses, request, response);
  }

  @Post('/v1/native/responses')
  @Access.bearer()
  native(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<void> {
    return this.answer(operations.native, request, response);
  }

  private async answer(operation: Operation, request: HttpRequest, response: ServerResponse): Promise<void> {
    const reply = await this.pipeline.run(operation, request, response);
    if (reply !== null) sendReply(response, reply);
  }
}
