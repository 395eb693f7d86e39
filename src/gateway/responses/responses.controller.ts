import type { ServerResponse } from 'node:http';
import { Controller, Delete, Get, Param, Req, Res } from '@nestjs/common';
import { fault, type Fault } from '../../kernel';
import { Access, type HttpRequest, queryOf } from '../../web';
import { callerOf } from '../intake';
import { type InputItemPage, inputItemPage } from './input-items';
import { KeptResponses } from './kept-responses';
import { replayedEvents } from './replayed-events';

/** These answers of `/v1/responses` are kept for this key. */
@Controller('/v1/responses')
@Access.bearer()
export class ResponsesController {
  constructor(private readonly kept: KeptResponses) {}

  @Get(':response_id')
  async one(
    @Param('response_id') id: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) reply: ServerResponse,
  ) {
    const response = await this.kept.get(callerOf(request).keyId, id);
    if (response === null) throw unknown(id);
    const query = queryOf(request);
    if (query.get('stream') !== 'true') return response;
    const after = query.get('starting_after');
    reply.setHeader('content-type', 'text/event-stream; charset=utf-8');
    return Buffer.from(replayedEvents(response, after === null ? undefined : Number(after)));
  }

  @Get(':response_id/input_items')
  async inputItems(@Param('response_id') id: string, @Req() request: HttpRequest): Promise<InputItemPage> {
    const input = await this.kept.inputOf(callerOf(request).keyId, id);
    if (input === null) throw unknown(id);
    return inputItemPage(id, input, queryOf(request));
  }

  @Delete(':response_id')
  async remove(@Param('response_id') id: string, @Req() request: HttpRequest) {
    if (!(await this.kept.remove(callerOf(request).keyId, id))) throw unknown(id);
    return { id, object: 'response', deleted: true };
  }
}

const unknown = (id: string): Fault =>
  fault('not_found', {
    param: 'response_id',
    message: `There is no response ${id} of this key, or it is older than 24 hours, was not stored, or was too much to keep.`,
  });
