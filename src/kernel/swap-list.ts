/** A member of a swap list: it keeps its own index. */
export interface Listed {
  index: number;
}

/**
 * A list whose members know their index: adding and removing take constant time, and the last member takes the place of
 * a removed one. V8 chains the worn-out tables of a Set, so one in the old generation keeps all later ones alive.
 */
export class SwapList<Member extends Listed> {
  private readonly members: Member[] = [];

  get size(): number {
    return this.members.length;
  }

  add(member: Member): void {
    member.index = this.members.length;
    this.members.push(member);
  }

  /** Does nothing for a member that is not listed. */
  remove(member: Member): void {
    const { members } = this;
    const { index } = member;
    if (members[index] !== member) return;
    const last = members.pop()!;
    if (last === member) return;
    members[index] = last;
    last.index = index;
  }

  /** A copy: members may be removed while it is read. */
  all(): readonly Member[] {
    return this.members.slice();
  }
}
