import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Notifications } from '../platform';

const CHANNEL = 'conversation_gone';

/** Replies that this node is writing, so that each stops when its conversation is deleted, on any node. */
@Injectable()
export class OpenTurns implements OnApplicationBootstrap {
  private readonly open = new Map<number, () => void>();

  constructor(private readonly notifications: Notifications) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.notifications.on(CHANNEL, (id) => this.open.get(Number(id))?.());
  }

  /** Registers the only open turn of a conversation; returns a function that unregisters it. */
  add(conversationId: number, stop: () => void): () => void {
    this.open.set(conversationId, stop);
    return () => {
      if (this.open.get(conversationId) === stop) this.open.delete(conversationId);
    };
  }
}
