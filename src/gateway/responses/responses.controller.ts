import type { ServerResponse } from 'node:http';
import { Controller, Delete, Get, Param, Req, Res } from '@nestjs/common';
import { fault, type Fault } from '../../kernel';
import { Access, type HttpRequest, queryOf } from '../../web';
import { callerOf } from '../intake';
import { type InputItemPage, inputItemPage } from './input-items';
import { StoredResponsesService } from './stored-responses.service';
import { replayEvents } from './replayed-events';

@Controller('/v1/responses')
@Access.bearer()
export class ResponsesController {
  constructor(private readonly storedResponses: StoredResponsesService) {}

  @Get(':response_id')
  async get(
    @Param('response_id') id: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) reply: ServerResponse,
  ) {
    const response = await this.storedResponses.get(callerOf(request).keyId, id);
    if (response === null) throw responseNotFound(id);
    const query = queryOf(request);
    if (query.get('stream') !== 'true') return response;
    const after = query.get('starting_after');
    reply.setHeader('content-type', 'text/event-stream; charset=utf-8');
    return Buffer.from(replayEvents(response, after === null ? undefined : Number(after)));
  }

  @Get(':response_id/input_items')
  async inputItems(@Param('response_id') id: string, @Req() request: HttpRequest): Promise<InputItemPage> {
    const input = await this.storedResponses.inputOf(callerOf(request).keyId, id);
    if (input === null) throw responseNotFound(id);
    return inputItemPage(id, input, queryOf(request));
  }

  @Delete(':response_id')
  async remove(@Param('response_id') id: string, @Req() request: HttpRequest) {
    if (!(await this.storedResponses.remove(callerOf(request).keyId, id))) throw responseNotFound(id);
    return { id, object: 'response', deleted: true };
  }
}

const responseNotFound = (id: string): Fault =>
  fault('not_found', {
    param: 'response_id',
    message: `There is no response ${id} of this key, or it is older than 24 hours, was not stored, or was too much to keep.`,
  });
