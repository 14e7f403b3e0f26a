// Of what one has asked for, the last one counts: an answer that comes after one turned elsewhere is not wanted.

export class Wish {
  /** This is wanted from now on, and nothing that was before; returns what tells whether it still is. */
  begin() {
    const mine = (this.now = {});
    return () => this.now === mine;
  }
}
