import type { ServerResponse } from 'node:http';
import { Controller, Get, Module, Req, Res } from '@nestjs/common';
import { KeyDirectory, OpenCalls, RateLimiter, rateRefusal, setRateHeaders } from '#product/keys';
import { Access, type HttpRequest, WebModule } from '#product/web';

/** Takes one request from the rate limit of the caller and does nothing else. */
@Controller('/v1/trial')
export class RateTrial {
  constructor(
    private readonly limiter: RateLimiter,
    readonly calls: OpenCalls,
    readonly directory: KeyDirectory,
  ) {}

  @Get('rate')
  @Access.eitherHeader()
  async rate(
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<object> {
    const { caller } = request;
    if (caller === undefined) throw new Error('the guard let nobody in');
    const verdict = await this.limiter.take(caller);
    setRateHeaders(response, verdict);
    const refusal = rateRefusal(verdict);
    if (refusal !== null) throw refusal;
    return { ok: true };
  }

  /** Stays open until its key becomes invalid, then writes the reason. */
  @Get('open')
  @Access.eitherHeader()
  open(@Req() request: HttpRequest, @Res() response: ServerResponse): void {
    const { caller } = request;
    if (caller === undefined) throw new Error('the guard let nobody in');
    response.write('open\n');
    const end = this.calls.track(caller, (reason) => response.end(reason.code));
    response.on('close', end);
  }
}

@Module({ imports: [WebModule], controllers: [RateTrial] })
export class RateTrialModule {}
