import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { SessionsService } from '../../identity';
import type { Fault } from '../../kernel';
import { Settings } from '../../platform';
import { cookieOf, sessionCookieName } from '../cookies';
import { type HttpRequest, pathOf, portalHostOf } from '../http-request';
import { PageFrames } from '../pages/page-frame';

/** Finds what the frame around an error shows. It never fails: without it, the error stands on a public page. */
@Injectable()
export class ErrorFrame {
  constructor(
    private readonly sessions: SessionsService,
    private readonly settings: Settings,
    private readonly frames: PageFrames,
  ) {}

  async load(problem: Fault, request: HttpRequest, response: ServerResponse): Promise<void> {
    // Where the service itself fails, nothing more is asked of it.
    if (problem.status >= 500) return;
    try {
      await this.recognise(request);
      if (request.actor !== undefined && request.restingAs === undefined && request.frame === undefined)
        await this.frames.load(request, response);
    } catch {
      return;
    }
  }

  /** An address without a page, and a form that was refused at the door, met no guard that knows the person. */
  private async recognise(request: HttpRequest): Promise<void> {
    const token = cookieOf(request.headers, sessionCookieName(this.settings));
    if (request.actor !== undefined || token === null || !isInside(pathOf(request))) return;
    const reading = await this.sessions.read(token, portalHostOf(request));
    if (reading.kind !== 'actor') return;
    request.actor = reading.actor;
    request.viewing = reading.viewing;
  }
}

const isInside = (path: string): boolean => /^\/(?:dashboard|x)(?:\/|$)/.test(path);
