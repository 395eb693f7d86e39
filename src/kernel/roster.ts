/** Who may stand on a roster: it notes in each where it stands. */
export interface Listed {
  index: number;
}

/**
 * Those who are here at the moment, coming and going by the thousand a second. A Set would hold them as well, but the
 * engine links every table that a Set has worn out to the next one. Once it takes one of them for something that stays,
 * it keeps all later ones and whoever was in them, until it looks at the whole heap.
 */
export class Roster<Member extends Listed> {
  private readonly members: Member[] = [];

  get size(): number {
    return this.members.length;
  }

  add(member: Member): void {
    member.index = this.members.length;
    this.members.push(member);
  }

  /** Nothing happens for somebody who is not here. */
  remove(member: Member): void {
    const { members } = this;
    const { index } = member;
    if (members[index] !== member) return;
    const last = members.pop()!;
    if (last === member) return;
    members[index] = last;
    last.index = index;
  }

  /** Those who are here now, whoever leaves meanwhile. */
  all(): readonly Member[] {
    return this.members.slice();
  }
}
