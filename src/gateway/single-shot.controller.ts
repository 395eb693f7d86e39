import type { ServerResponse } from 'node:http';
import { Controller, Post, Req, Res, UseInterceptors } from '@nestjs/common';
import { Access, type HttpRequest } from '../web';
import { operations } from './operations/operation';
import { Pipeline } from './pipeline';
import type { Reply } from './reply/reply';
import { SvcHeadersInterceptor } from './reply/svc-headers.interceptor';

@Controller()
@UseInterceptors(SvcHeadersInterceptor)
export class SingleShotController {
  constructor(private readonly pipeline: Pipeline) {}

  @Post('/v1/embeddings')
  @Access.bearer()
  embeddings(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.embeddings, request, response);
  }

  @Post('/v1/rerank')
  @Access.bearer()
  rerank(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.rerank, request, response);
  }

  @Post('/v2/rerank')
  @Access.bearer()
  rerankV2(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.rerank, request, response);
  }

  @Post('/v1/audio/transcriptions')
  @Access.bearer()
  transcription(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.transcription, request, response);
  }

  @Post('/v1/audio/translations')
  @Access.bearer()
  translation(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.translation, request, response);
  }

  @Post('/v1/audio/speech')
  @Access.bearer()
  speech(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.speech, request, response);
  }

  @Post('/v1/images/generations')
  @Access.bearer()
  image(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.image, request, response);
  }

  @Post('/v1/moderations')
  @Access.bearer()
  moderation(@Req() request: HttpRequest, @Res() response: ServerResponse): Promise<Reply | null> {
    return this.pipeline.run(operations.moderation, request, response);
  }
}
