export interface SwapListMember {
  index: number;
}

/**
 * A list with constant-time add and remove; the last member replaces a removed one. V8 chains the old tables of a Set,
 * so one in the old generation keeps all later ones alive.
 */
export class SwapList<Member extends SwapListMember> {
  private readonly members: Member[] = [];

  get size(): number {
    return this.members.length;
  }

  add(member: Member): void {
    member.index = this.members.length;
    this.members.push(member);
  }

  /** Does nothing if the member is not listed. */
  remove(member: Member): void {
    const { members } = this;
    const { index } = member;
    if (members[index] !== member) return;
    const last = members.pop()!;
    if (last === member) return;
    members[index] = last;
    last.index = index;
  }

  /** Returns a copy, so that members can be removed during iteration. */
  all(): readonly Member[] {
    return this.members.slice();
  }
}
