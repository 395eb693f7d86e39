import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Notifications } from '../platform';

const CHANNEL = 'conversation_gone';

/** The answers that this node is writing, so that one ends when its conversation is deleted, on whichever node. */
@Injectable()
export class OpenTurns implements OnApplicationBootstrap {
  private readonly open = new Map<number, () => void>();

  constructor(private readonly notifications: Notifications) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.notifications.on(CHANNEL, (id) => this.open.get(Number(id))?.());
  }

  /** There is one at a time in a conversation. The function that comes back ends the watch. */
  add(conversationId: number, stop: () => void): () => void {
    this.open.set(conversationId, stop);
    return () => {
      if (this.open.get(conversationId) === stop) this.open.delete(conversationId);
    };
  }
}
