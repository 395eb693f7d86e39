import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { SessionsService } from '../../identity';
import type { Fault } from '../../kernel';
import { Settings } from '../../platform';
import { cookieOf, sessionCookieName } from '../cookies';
import { type HttpRequest, pathOf, portalHostOf } from '../http-request';
import { PageFrames } from '../pages/page-frame';

/** Loads the page frame around an error. Never fails: without a frame, the error appears on a public page. */
@Injectable()
export class ErrorFrame {
  constructor(
    private readonly sessions: SessionsService,
    private readonly settings: Settings,
    private readonly frames: PageFrames,
  ) {}

  async load(problem: Fault, request: HttpRequest, response: ServerResponse): Promise<void> {
    // After an internal error, no further queries are made.
    if (problem.status >= 500) return;
    try {
      await this.loadActor(request);
      if (request.actor !== undefined && request.restingAs === undefined && request.frame === undefined)
        await this.frames.load(request, response);
    } catch {
      return;
    }
  }

  /** Loads the actor for requests that no session guard has handled, such as an unknown path. */
  private async loadActor(request: HttpRequest): Promise<void> {
    const token = cookieOf(request.headers, sessionCookieName(this.settings));
    if (request.actor !== undefined || token === null || !isPortalPath(pathOf(request))) return;
    const session = await this.sessions.read(token, portalHostOf(request));
    if (session.kind !== 'actor') return;
    request.actor = session.actor;
    request.viewing = session.viewing;
  }
}

const isPortalPath = (path: string): boolean => /^\/(?:dashboard|x)(?:\/|$)/.test(path);
